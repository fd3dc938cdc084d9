// Anyone to whom a link of the menu led by the keyboard goes on in the page, and not along the rest of the menu.
(() => {
    if (!document.activeElement?.closest('[data-testid=stSidebarNav]')) return;
    setTimeout(() => {
        const title = document.querySelector('[data-testid=stMain] h1');
        if (title) Object.assign(title, {tabIndex: -1}).focus({preventScroll: true});
    }, 100);
})();
