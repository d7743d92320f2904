import { onContentUpdated } from "vitepress";
import DefaultTheme from "vitepress/theme-without-fonts";
import "./style.css";

/** The front page of the theme has no landmark for its content, which readers of the screen jump to. */
function markMain(): void {
  const content = document.querySelector("#VPContent");
  if (content?.classList.contains("is-home")) content.setAttribute("role", "main");
  else content?.removeAttribute("role");
}

export default { extends: DefaultTheme, setup: () => onContentUpdated(markMain) };
