/** Switches to the other language. The button shows that language's own name. */
import { Button } from "@mantine/core";
import { languages, useLanguage } from "../language/language.tsx";

export function LanguageSwitch() {
  const { language, speak } = useLanguage();
  const other = language === "en" ? "zh-CN" : "en";
  return (
    <Button variant="subtle" color="gray" size="compact-sm" px={6} lang={other} onClick={() => speak(other)}>
      {languages[other]}
    </Button>
  );
}
