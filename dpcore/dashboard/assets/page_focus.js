// After a menu link was followed by the keyboard, the focus moves into the page, not to the next menu link.
(() => {
    if (!document.activeElement?.closest('[data-testid=stSidebarNav]')) return;
    setTimeout(() => {
        const title = document.querySelector('[data-testid=stMain] h1');
        if (title) Object.assign(title, {tabIndex: -1}).focus({preventScroll: true});
    }, 100);
})();
