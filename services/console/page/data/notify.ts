import { messageOf } from "../../../../lib/errors.ts";

/** Notifies a user who does not see the page, if the user has allowed that. */
export function notify(body: string): void {
  const isAllowed = "Notification" in globalThis && Notification.permission === "granted";
  if (!isAllowed || !document.hidden) return;
  try {
    new Notification("rangemaker", { body, icon: "/icon.svg" });
  } catch (thrown) { // Chrome on Android has the class, and lets no page use it
    console.info(`No notification: ${messageOf(thrown)}`);
  }
}
