/**
 * Keeps Escape from the dialogs below the one that asks for the password: they would close, and lose what was typed. It listens from the
 * beginning, and so before they do.
 */
export const keepsEscape = { "data-keeps-escape": true } as const;

export function keepEscape(): void {
  const listen = (event: KeyboardEvent) => {
    if (event.key === "Escape" && document.querySelector("[data-keeps-escape]")) event.stopImmediatePropagation();
  };
  addEventListener("keydown", listen, { capture: true });
}
