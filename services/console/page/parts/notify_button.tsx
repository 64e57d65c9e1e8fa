import { useSignal } from "@preact/signals";

interface NotifyButtonProps {
  label: string;
  /** Announced once notifications are allowed. */
  granted: string;
  /** Shown instead of the button if the browser has denied them. */
  denied?: string;
  announce(text: string): void;
}

/** Asks for permission to notify, only when pressed. */
export function NotifyButton({ label, granted, denied, announce }: NotifyButtonProps) {
  const state = useSignal("Notification" in globalThis ? Notification.permission : "denied");
  if (state.value === "denied" && denied !== undefined) return <span class="note">{denied}</span>;
  if (state.value !== "default") return null;
  const ask = async ({ currentTarget: button }: { currentTarget: HTMLButtonElement }) => {
    const next = button.nextElementSibling ?? button.previousElementSibling;
    const permission = await Notification.requestPermission();
    if (permission !== "granted") {
      return void announce(
        "The browser does not allow notifications: everything is shown on this page.",
      );
    }
    // The button disappears, so its focus moves on.
    if (document.activeElement === button && next instanceof HTMLElement) next.focus();
    state.value = permission;
    announce(granted);
  };
  return <button type="button" onClick={ask}>{label}</button>;
}
