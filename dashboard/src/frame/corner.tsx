/** The corner of the window in which what was done is said. A file of its own, loaded after the page. */
import "@mantine/notifications/styles.css";
import { Notifications } from "@mantine/notifications";

export default function Corner() {
  return <Notifications position="bottom-right" />;
}
