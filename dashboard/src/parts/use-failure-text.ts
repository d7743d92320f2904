/** Tells failures in the reader's language. */
import { useLanguage } from "../language/language.tsx";
import { failureText } from "./failure-texts.ts";

export function useFailureText(): (text: string) => string {
  const { language } = useLanguage();
  return (text) => failureText(text, language);
}
