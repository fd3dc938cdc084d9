// Scrolls to the top when a lesson step begins (`top`), and to the element that its text names when the run is finished
// (`seek`; `place` finds the element). Scrolling by the user ends this.
(() => {
    const main = document.querySelector('[data-testid=stMain]'), app = document.querySelector('[data-testid=stApp]');
    const mine = window.lesson = {moved: false, last: -1}, HEAD = 48;
    for (const kind of ['wheel', 'touchmove', 'keydown', 'pointerdown'])
        addEventListener(kind, () => mine.moved = true, {once: true, passive: true});
    if (top) main.scrollTo({top: 0, behavior: 'instant'});
    const look = () => {
        const foot = document.querySelector('[data-testid=stBottom]'), found = seek ? place() : main.firstChild;
        if (mine !== window.lesson || mine.moved || mine.still > 2 || Date.now() > mine.until || !foot) return;
        const end = foot.getBoundingClientRect().top - 8, room = end - HEAD;
        Object.assign(main.style, {scrollPaddingTop: `${HEAD}px`, scrollPaddingBottom: `${innerHeight - end}px`});
        if (found && app.dataset.testScriptState === 'notRunning') {
            const high = found.getBoundingClientRect().height;
            found.scrollIntoView({behavior: 'instant', block: high > room ? 'start' : 'nearest'});
            mine.still = main.scrollTop === mine.last && high > 20 ? mine.still + 1 : 0;
            mine.last = main.scrollTop;
        }
        clearTimeout(mine.timer);
        mine.timer = setTimeout(look, 150);
    };
    const again = () => { mine.still = 0; mine.until = Date.now() + 60000; look(); };
    if (seek || top) { addEventListener('resize', again); again(); }
})();
