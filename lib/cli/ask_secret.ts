/** Asks for a secret on a terminal. */
import { UsageError } from "./options.ts";

export interface Keyboard {
  isTerminal(): boolean;
  setRaw(raw: boolean): void;
  read(buffer: Uint8Array): Promise<number | null>;
}

/** Where the question appears. */
export interface Screen {
  writeSync(bytes: Uint8Array): number;
}

const encoder = new TextEncoder();

/**
 * Asks a question, and reads the answer up to the Enter key without showing it.
 *
 * @throws {UsageError} If there is no terminal, or the user gives up with Ctrl-C or Ctrl-D.
 */
export async function askSecret(
  question: string,
  keyboard: Keyboard,
  screen: Screen,
): Promise<string> {
  if (!keyboard.isTerminal()) {
    throw new UsageError("Missing --keystore-password-file: there is no terminal to ask on");
  }
  screen.writeSync(encoder.encode(question));
  keyboard.setRaw(true);
  try {
    return await readSecret(keyboard);
  } finally {
    keyboard.setRaw(false);
    screen.writeSync(encoder.encode("\n"));
  }
}

async function readSecret(keyboard: Keyboard): Promise<string> {
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(256);
  const typed: string[] = [];
  while (true) {
    const length = await keyboard.read(buffer);
    const text = length === null ? "\x04" : decoder.decode(buffer.slice(0, length), {
      stream: true,
    });
    for (const letter of text) {
      if (letter === "\r" || letter === "\n") return typed.join("");
      if (letter === "\x03" || letter === "\x04") throw new UsageError("Cancelled");
      if (letter === "\x7f" || letter === "\b") typed.pop();
      else typed.push(letter);
    }
  }
}
