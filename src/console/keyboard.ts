/** Keyboard shortcuts: `/` focuses the search of the view, 1 to 9 switch views, Escape closes the drawer. */

/** Listens for the life of the page. */
export function startKeyboard(): void {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { target } = event;
    const isTyping = target instanceof Element && target.closest("input, textarea, select, dialog") !== null;
    if (isTyping) return;
    if (event.key === "/") {
      const search = document.querySelector<HTMLInputElement>("input[type=search]");
      if (search === null) return;
      event.preventDefault();
      search.focus();
    } else if (event.key === "Escape") {
      document.querySelector<HTMLAnchorElement>("a.close")?.click();
    } else if (/^[1-9]$/.test(event.key)) {
      const links = document.querySelectorAll<HTMLAnchorElement>("nav a");
      links[Number(event.key) - 1]?.click();
    }
  });
}
