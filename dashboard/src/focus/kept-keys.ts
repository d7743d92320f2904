/**
 * Keeps from the page the keys that do something there while a dialog asks for the password: Escape would close the dialogs below and
 * lose what was typed, and shortcuts such as Ctrl+K would take the focus below.
 */

/** keepsKeys are the props of what keeps the keys as long as it is shown. */
export const keepsKeys = { "data-keeps-keys": true } as const;

/** keepKeys begins to listen. It is called before anything else listens, so that it comes first. What the browser does stays. */
export function keepKeys(): void {
  const listen = (event: KeyboardEvent) => {
    const { key, ctrlKey, metaKey } = event;
    if ((key === "Escape" || ctrlKey || metaKey) && document.querySelector("[data-keeps-keys]"))
      event.stopImmediatePropagation();
  };
  addEventListener("keydown", listen, { capture: true });
}
