import { onContentUpdated } from "vitepress";
import DefaultTheme from "vitepress/theme-without-fonts";
import "./style.css";

/** Marks the content of the front page as a landmark, which screen readers jump to; the theme does so on other pages only. */
function markMain(): void {
  const content = document.querySelector("#VPContent");
  if (content?.classList.contains("is-home")) content.setAttribute("role", "main");
  else content?.removeAttribute("role");
}

export default { extends: DefaultTheme, setup: () => onContentUpdated(markMain) };
