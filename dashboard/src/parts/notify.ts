/** notify shows a message in the corner of the window. The corner's code loads on first use. */
export async function notify(message: string): Promise<void> {
  const { notifications } = await import("@mantine/notifications");
  notifications.show({ message, color: "teal", autoClose: 4000, withCloseButton: false });
}
