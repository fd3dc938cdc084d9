// Anyone who works with the keyboard goes on in the page: by the first link, or once a link of the menu led to it.
// `skip` is what the link says.
(() => {
    const toPage = () => {
        const title = document.querySelector('[data-testid=stMain] h1');
        if (!title) return;
        title.tabIndex = -1;
        title.focus({preventScroll: true});
    };
    let link = document.getElementById('skip');
    if (!link) {
        link = document.body.insertBefore(document.createElement('button'), document.body.firstChild);
        link.id = 'skip';
        link.onclick = toPage;
    }
    link.textContent = skip;
    if (document.activeElement?.closest('[data-testid=stSidebarNav]')) setTimeout(toPage, 100);
})();
