/**
 * Opens and closes the palette from anywhere in the page, and gives the focus back when it closes. Where it was is remembered here: the
 * palette's own file may arrive long after the keys were pressed.
 */
import { useSyncExternalStore } from "react";
import { rememberFocus } from "../focus/keep-focus.ts";

let isOpen = false;
let giveBack: (() => void) | undefined;
const listeners = new Set<() => void>();

export function showPalette(shown: boolean): void {
  if (isOpen === shown) return;
  isOpen = shown;
  giveBack?.();
  giveBack = shown ? rememberFocus() : undefined;
  for (const listener of listeners) listener();
}

export function usePaletteShown(): boolean {
  return useSyncExternalStore(listen, () => isOpen);
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
