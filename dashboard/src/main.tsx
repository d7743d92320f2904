/** Renders the dashboard into the page. */
import "./styles.ts";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { keepFocus } from "./focus/keep-focus.ts";
import { keepKeys } from "./focus/kept-keys.ts";

keepKeys();
keepFocus();
createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
