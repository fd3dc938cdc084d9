// What somebody sees of a page without scrolling; scripts/screens.py says what is counted, and why.
// Only roles and test ids of Streamlit are used here, and one key of ours: "settings".
window.screen_of = (() => {
    const id = (...names) => names.map(name => `[data-testid="${name}"]`).join(', ');
    const NEAR = 60; // pixels around a button that was pressed
    const NO_TEXT = 'script, style, noscript, template, svg, canvas, [role="tooltip"], ' +
        id('stIconMaterial', 'stElementToolbar');
    const FIELDS = 'textarea, input:is([type="text"], [type="number"], :not([type]))';
    // One control, however many parts of it can be pressed.
    const WIDGETS = id(
        'stRadio', 'stButtonGroup', 'stFeedback', 'stPagination', 'stCheckbox', 'stSlider',
        'stSelectbox', 'stMultiSelect', 'stNumberInput', 'stTextInput', 'stTextArea', 'stDateInput',
        'stTimeInput', 'stDateTimeInput', 'stColorPicker', 'stFileUploader', 'stChatInput',
        'stCameraInput', 'stAudioInput',
    );
    const PRESSED = 'button, summary, input, textarea, [role="slider"], ' +
        `:is(${id('stPageLink', 'stLinkButton')}) a`;
    const NO_CONTROL = '[role="tablist"], ' +
        id('stElementToolbar', 'stHeaderActionElements', 'stTabsScrollLeft', 'stTabsScrollRight');
    const CHARTS = id(
        'stVegaLiteChart', 'stGraphVizChart', 'stPlotlyChart', 'stEChartsChart', 'stMermaidChart',
        'stImage',
    );
    const RESULTS = `[role="tablist"], ${CHARTS}, ${id('stMetric', 'stAlert', 'stDataFrame')}`;
    const PROGRESS = `[role="progressbar"], ${id('stProgress', 'stSpinner')}`;
    const OPENERS = 'details:not([open]) > summary, [role="tab"][aria-selected="false"], ' +
        id('stPopoverButton');
    const MENU = `${id('stSidebarNavLink')}, ${id('stSidebar')} ${id('stPageLink')} a`;

    const main = () => document.querySelector(id('stMain'));
    const box_of = element => element.getBoundingClientRect();
    const all = (css, root = main()) => [...root.querySelectorAll(css)];
    const drawn = element =>
        element.checkVisibility({opacityProperty: true, visibilityProperty: true});

    // What the window, and whatever an element scrolls or is cut off in, leave of it.
    const window_of = element => {
        const left = {left: 0, top: 0, right: innerWidth, bottom: innerHeight};
        for (let around = element; around; around = around.parentElement) {
            if (getComputedStyle(around).overflow === 'visible') continue;
            const box = box_of(around);
            left.left = Math.max(left.left, box.left);
            left.top = Math.max(left.top, box.top);
            left.right = Math.min(left.right, box.right);
            left.bottom = Math.min(left.bottom, box.bottom);
        }
        return left;
    };
    const middle_in = (box, frame) => {
        const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
        return box.width > 0 &&
            x >= frame.left && x <= frame.right && y >= frame.top && y <= frame.bottom;
    };
    const seen = element => drawn(element) && middle_in(box_of(element), window_of(element));
    const whole = element => {
        const [box, frame] = [box_of(element), window_of(element)];
        return box.left >= frame.left - 1 && box.right <= frame.right + 1 &&
            box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1;
    };

    const words = (root = main(), everywhere = false) => {
        const found = [], range = document.createRange();
        const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
        while (walk.nextNode()) {
            const [node, holder] = [walk.currentNode, walk.currentNode.parentElement];
            if (holder.closest(NO_TEXT) || !drawn(holder)) continue;
            const frame = window_of(holder);
            for (const word of node.data.matchAll(/\S*[\p{L}\p{N}]\S*/gu)) {
                range.setStart(node, word.index);
                range.setEnd(node, word.index + word[0].length);
                if (everywhere || middle_in(box_of(range), frame)) found.push(word[0]);
            }
        }
        const filled = all(FIELDS, root).filter(field => everywhere ? drawn(field) : seen(field));
        return [...found, ...filled.flatMap(field => field.value.split(/\s+/).filter(Boolean))];
    };
    const said = element => words(element, true).join(' ');
    const controls = () => {
        const parts = all(PRESSED).filter(part => !part.closest(NO_CONTROL))
            .filter(part => said(part) || !part.closest(id('stTooltipIcon')));
        const found = new Set(parts.map(part => part.closest(WIDGETS) || part));
        return [...found].filter(seen).map(said);
    };
    const settings = run => {
        const block = main().querySelector(id('stMainBlockContainer'));
        const top = box_of(block).top + parseFloat(getComputedStyle(block).paddingTop);
        const marked = main().querySelector('.st-key-settings');
        if (marked) return Math.round(box_of(marked).bottom - top);
        if (!run) return null;
        const follows = result =>
            run.compareDocumentPosition(result) & Node.DOCUMENT_POSITION_FOLLOWING;
        const first = all(RESULTS).find(result =>
            drawn(result) && follows(result) && !result.closest('details'));
        return Math.round((first ? box_of(first).top : box_of(block).bottom) - top);
    };
    const links = () => all(MENU, document);
    // Whether the first one outside the settings is whole in the window; null if there is none.
    const chart = () => {
        const first = all(CHARTS).find(found =>
            drawn(found) && !found.closest('.st-key-settings, details'));
        return first ? whole(first.querySelector('svg.marks, canvas.marks') || first) : null;
    };
    const is_drawer = opener => opener.tagName === 'SUMMARY';
    // Their names, drawers last: one that closes moves the tabs below it for a while.
    const openers = () => all(OPENERS).filter(seen)
        .sort((one, other) => is_drawer(one) - is_drawer(other)).map(said);
    const opener = name =>
        all(OPENERS).find(found => drawn(found) && said(found) === name) || null;
    // The words of what an opener opened: those that count, and all, further down as well.
    const behind = pressed => {
        const tab = pressed.role === 'tab';
        const panel = tab ? document.getElementById(pressed.getAttribute('aria-controls'))
            : is_drawer(pressed) ? pressed.closest('details').querySelector(id('stExpanderDetails'))
            : all(id('stPopoverBody'), document).at(-1);
        const every = words(panel, true).length;
        return [tab ? words(panel).length : every, every];
    };

    // From the press of a button until something at its place says what happens now.
    const watch = button => {
        const from = box_of(button);
        const near = element => {
            const box = box_of(element);
            const across = Math.max(box.left - from.right, from.left - box.right);
            const along = Math.max(box.top - from.bottom, from.top - box.bottom);
            return box.width > 0 && Math.max(across, along) <= NEAR;
        };
        const before = new Set(all('button').map(one => one.innerText));
        const found = window.press = {start: null, answer: null, rests: null};
        const look = () => {
            if (found.start === null) return;
            const now = performance.now() - found.start;
            const other = all('button').filter(one => !before.has(one.innerText));
            const answers = [...all(PROGRESS), ...other].some(one => drawn(one) && near(one));
            if (answers) found.answer ??= now;
            if (!button.isConnected || button.disabled) found.rests ??= now;
        };
        // A bar that fades in changes nothing more in the document: look at every frame, too.
        const each_frame = () => {
            look();
            if (found.answer === null) requestAnimationFrame(each_frame);
        };
        document.addEventListener('click', event => {
            found.start = event.timeStamp;
            each_frame();
        }, {capture: true, once: true});
        new MutationObserver(look).observe(
            document.body, {subtree: true, childList: true, attributes: true, characterData: true});
    };
    const tabs = () => all('[role="tab"]').map(said);
    const to_top = () => all(id('stMain', 'stSidebarContent'), document).forEach(part =>
        part.scrollTo({top: 0, behavior: 'instant'}));
    const measure = run => ({
        words: words(),
        controls: controls(),
        tabs: tabs(),
        settings: settings(run),
        menu: links().map(link => drawn(link) && whole(link)),
        chart: chart(),
    });
    return {measure, chart, links, openers, opener, behind, watch, to_top};
})();
