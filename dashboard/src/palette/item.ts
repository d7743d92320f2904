/** Item is what the palette shows, in groups, and says what choosing it does. */
import type { ComponentType } from "react";
import { fitOf, ranked, type Searchable } from "./rank.ts";

export interface Item extends Searchable {
  readonly id: string;
  /** about is a second line, such as an id. */
  readonly about?: string | undefined;
  readonly icon: ComponentType<{ readonly size?: number }>;
  readonly run: () => void;
  /** stays is whether the page stays, so that its focus does, too. */
  readonly stays?: boolean | undefined;
}

export interface ItemGroup {
  readonly label: string;
  readonly items: readonly Item[];
  /** fit is how well the best of its items fits, 0 to 1. */
  readonly fit: number;
}

/** shownItems is the most items of a group. */
const shownItems = 6;

/** foundGroup returns what of a group fits a query, the best first. */
export function foundGroup(label: string, items: readonly Item[], query: string, most = shownItems): ItemGroup {
  const found = ranked(items, query, most);
  return { label, items: found.map(({ thing }) => thing), fit: found[0]?.fit ?? 0 };
}

/** answeredGroup returns a group whose items the gateway has found: all of them fit, some of them better. */
export function answeredGroup(label: string, items: readonly Item[], query: string): ItemGroup {
  const fits = items.map((item) => Math.max(fitOf(item, query), 0.4));
  return { label, items, fit: Math.max(0, ...fits) };
}

/** inOrder returns the groups that have items, the one with the best first; those that fit alike stay in their order. */
export function inOrder(groups: readonly ItemGroup[]): readonly ItemGroup[] {
  return groups.filter(({ items }) => items.length > 0).sort((one, other) => other.fit - one.fit);
}
