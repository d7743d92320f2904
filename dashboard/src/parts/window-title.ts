/** What the window and its tab are called. */
import { useDocumentTitle } from "@mantine/hooks";

export function useWindowTitle(title: string): void {
  useDocumentTitle(`${title} · model-gateway`);
}
