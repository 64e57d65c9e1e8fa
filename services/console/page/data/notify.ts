/** Notifies a user who does not see the page, if the user has allowed that. */
export function notify(body: string): void {
  const isAllowed = "Notification" in globalThis && Notification.permission === "granted";
  if (isAllowed && document.hidden) new Notification("rangemaker", { body, icon: "/icon.svg" });
}
