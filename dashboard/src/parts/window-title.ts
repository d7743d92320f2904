/** Sets the title of the window and its tab. */
import { useDocumentTitle } from "@mantine/hooks";

export function useWindowTitle(title: string): void {
  useDocumentTitle(`${title} · model-gateway`);
}
