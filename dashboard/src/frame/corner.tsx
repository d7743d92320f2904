/** The corner of the window that shows notifications. A file of its own, so that it loads after the page. */
import "@mantine/notifications/styles.css";
import { Notifications } from "@mantine/notifications";

export default function Corner() {
  return <Notifications position="bottom-right" />;
}
