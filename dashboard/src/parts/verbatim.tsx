/** Verbatim shows a text as it was written, in a block: its lines break where there is no room. */
import { Code } from "@mantine/core";
import text from "./text.module.css";

export function Verbatim({ children }: { readonly children: string }) {
  return (
    <Code block className={text.anywhere} style={{ whiteSpace: "pre-wrap" }}>
      {children}
    </Code>
  );
}
