/**
 * The words of the dashboard, in English and in Simplified Chinese.
 *
 * Words stand beside the page that says them, in both languages: `words(english, chinese)`. What varies is a function of
 * it. The compiler sees to it that the other language says everything that English does.
 */
import { createContext, type PropsWithChildren, use, useEffect, useState } from "react";

export const languages = { en: "English", "zh-CN": "简体中文" } as const;

export type Language = keyof typeof languages;

// biome-ignore lint/suspicious/noExplicitAny: a word may be a function of anything.
type Word = string | ((...values: any[]) => string);

type Same<W> = {
  readonly [K in keyof W]: W[K] extends (...values: infer V) => string ? (...values: V) => string : string;
};

export type Words<W> = Readonly<Record<Language, Same<W>>>;

export function words<const W extends Readonly<Record<string, Word>>>(english: W, chinese: Same<W>): Words<W> {
  return { en: english as unknown as Same<W>, "zh-CN": chinese };
}

interface Spoken {
  readonly language: Language;
  readonly speak: (language: Language) => void;
}

const Current = createContext<Spoken>({ language: "en", speak: () => {} });

const storageKey = "gateway-language";

/** The language that was chosen here before, or else the browser's first that we speak. */
function preferred(): Language {
  const asked = [localStorage.getItem(storageKey) ?? "", ...navigator.languages];
  for (const one of asked) {
    if (one.toLowerCase().startsWith("zh")) return "zh-CN";
    if (one.toLowerCase().startsWith("en")) return "en";
  }
  return "en";
}

export function LanguageProvider({ children }: PropsWithChildren) {
  const [language, setLanguage] = useState(preferred);
  useEffect(() => {
    document.documentElement.lang = language;
  }, [language]);
  const speak = (chosen: Language) => {
    localStorage.setItem(storageKey, chosen);
    setLanguage(chosen);
  };
  return <Current value={{ language, speak }}>{children}</Current>;
}

export function useLanguage(): Spoken {
  return use(Current);
}

/** Returns the words in the language of the page. */
export function useWords<W>(of: Words<W>): Same<W> {
  return of[use(Current).language];
}
