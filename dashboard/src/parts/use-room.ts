/** Tells whether a table fits into the room that it has, which is not known from the window's width alone. */
import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from "react";

interface Room {
  /** holder goes to the element that is as wide as there is room for. */
  readonly holder: RefObject<HTMLDivElement | null>;
  readonly table: RefObject<HTMLTableElement | null>;
  /** hasRoom is undefined until the first measurement, which comes before anything is painted. */
  readonly hasRoom: boolean | undefined;
}

/**
 * useRoom takes the least width of the table in pixels. A table that turns out to need more, for what is in it, has no room either,
 * until there is as much as it needed, or another face has arrived, in which it may need less.
 */
export function useRoom(minWidth: number): Room {
  const holder = useRef<HTMLDivElement>(null);
  const table = useRef<HTMLTableElement>(null);
  const [width, setWidth] = useState<number>();
  const [needed, setNeeded] = useState(minWidth);
  const hasRoom = width === undefined ? undefined : width >= needed;
  useLayoutEffect(() => {
    const element = holder.current;
    if (!element) return;
    const measure = () => setWidth(element.clientWidth);
    measure();
    return observe(element, measure);
  }, []);
  // After every rendering, since other content may need more.
  useLayoutEffect(() => {
    if (table.current) setNeeded((before) => Math.max(before, neededBy(table.current)));
  });
  useEffect(() => {
    const forget = () => setNeeded(minWidth);
    document.fonts.addEventListener("loadingdone", forget);
    return () => document.fonts.removeEventListener("loadingdone", forget);
  }, [minWidth]);
  // A table grows with what is in it, also between two renderings.
  useEffect(() => {
    const element = table.current;
    if (!element || hasRoom !== true) return;
    return observe(element, () => setNeeded((before) => Math.max(before, neededBy(table.current))));
  }, [hasRoom]);
  return { holder, table, hasRoom };
}

/** neededBy returns the holder's width that a table needs that is too wide for what is around it, and 0 for one that fits. */
function neededBy(table: HTMLTableElement | null): number {
  const around = table?.parentElement;
  const holder = around?.parentElement;
  if (!table || !around || !holder) return 0;
  const missing = table.offsetWidth - around.clientWidth;
  return missing > 0 ? holder.clientWidth + missing : 0;
}

function observe(element: Element, onResize: () => void): () => void {
  const observer = new ResizeObserver(onResize);
  observer.observe(element);
  return () => observer.disconnect();
}
