/** Opens and closes the palette from anywhere in the page. */
import { useSyncExternalStore } from "react";

let isOpen = false;
const listeners = new Set<() => void>();

export function showPalette(shown: boolean): void {
  if (isOpen === shown) return;
  isOpen = shown;
  for (const listener of listeners) listener();
}

export function usePaletteShown(): boolean {
  return useSyncExternalStore(listen, () => isOpen);
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
