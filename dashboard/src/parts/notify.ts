/** Says in the corner of the window that something was done. The corner's own code comes when it is first needed. */
export async function notify(message: string): Promise<void> {
  const { notifications } = await import("@mantine/notifications");
  notifications.show({ message, color: "teal", autoClose: 4000, withCloseButton: false });
}
