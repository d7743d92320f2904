/**
 * Place is where the focus was, and can go back to, also where the page was drawn anew meanwhile: to the same control; else to the one
 * that stands for it now; else to what is around it and still there; else to the page's content.
 */
export interface Place {
  readonly element: HTMLElement;
  /** likeness is what a control that was drawn anew has in common with the one that is gone. */
  readonly likeness: string;
  /** around is what the element is in, from the inside out. Behind a menu stands the button that opened it, with what that is in. */
  readonly around: readonly HTMLElement[];
  /** outer is the place before the dialog that this one is in; unset outside of dialogs. */
  readonly outer?: Place;
}

/** focused returns the element that has the focus; undefined where nothing has it. */
export function focused(): HTMLElement | undefined {
  const { activeElement, body } = document;
  return activeElement instanceof HTMLElement && activeElement !== body ? activeElement : undefined;
}

/** placeOf returns the place of an element, as long as that is in the page. */
export function placeOf(element: HTMLElement): Place {
  const around: HTMLElement[] = [];
  for (let next = outside(element); next; next = outside(next)) around.push(next);
  return { element, likeness: likenessOf(element), around };
}

/** outside returns what an element is in; of a menu or a pop-up, the button that it belongs to. */
function outside(element: HTMLElement): HTMLElement | null {
  const opener = /^(menu|dialog|listbox)$/.test(element.getAttribute("role") ?? "")
    ? element.getAttribute("aria-labelledby")
    : null;
  const button = opener === null ? null : document.getElementById(opener);
  return button && !element.contains(button) ? button : element.parentElement;
}

/** likenessOf tells controls apart by what people see of them. */
function likenessOf(element: HTMLElement): string {
  const labels = element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement ? element.labels : null;
  const isField = element.matches("input, textarea");
  const text = labels?.[0]?.textContent ?? (isField ? element.getAttribute("name") : element.textContent);
  return [...["role", "type", "aria-label"].map((name) => element.getAttribute(name)), text].join("\n");
}

/** goBack gives the focus back to a place. The page is not scrolled. */
export function goBack(place: Place): void {
  const content = document.querySelector<HTMLElement>("#content");
  for (const candidate of [...candidatesAt(place), content]) {
    if (!candidate?.isConnected) continue;
    candidate.focus({ preventScroll: true });
    if (focused() === candidate) return;
  }
}

/** candidatesAt returns what may take the focus at a place, best first. */
function candidatesAt(place: Place): readonly (HTMLElement | undefined)[] {
  const { element, around, outer } = place;
  return [element, twinOf(place), ...around, ...(outer ? candidatesAt(outer) : [])];
}

/** twinOf returns the one control that stands for an element that is gone. */
function twinOf({ element, likeness, around }: Place): HTMLElement | undefined {
  if (element.isConnected) return undefined;
  const whole = around.find(({ isConnected }) => isConnected);
  // The dialog is gone: an element of the page that looks like the one in the dialog is another.
  if (!whole || whole.matches("html, body, [data-portal]")) return undefined;
  const alike = [...whole.querySelectorAll<HTMLElement>(element.localName)].filter(
    (one) => likenessOf(one) === likeness,
  );
  return alike.length === 1 ? alike[0] : undefined;
}
