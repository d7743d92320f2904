/**
 * Joins names and values into texts. Punctuation differs by language, so pages write none between texts themselves: a half-width colon has
 * no place behind a Chinese character.
 */
import { texts, useTexts } from "./language.tsx";

const said = texts(
  {
    label: (name: string) => `${name}: `,
    labelled: (name: string, value: string) => `${name}: ${value}`,
    list: (parts: readonly string[]) => parts.join(", "),
    aside: (text: string, more: string) => `${text} (${more})`,
  },
  {
    label: (name: string) => `${name}：`,
    labelled: (name: string, value: string) => `${name}：${value}`,
    list: (parts: readonly string[]) => parts.join("、"),
    aside: (text: string, more: string) => `${text}（${more}）`,
  },
);

/** useJoin returns what joins texts in the page's language. */
export const useJoin = () => useTexts(said);
