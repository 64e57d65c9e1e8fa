import { RangemakerError } from "../errors.ts";
import { redact } from "../redact.ts";

/** Wrong arguments: one line for the user, without keys or passwords, and exit code 2. */
export class UsageError extends RangemakerError {
  constructor(message: string) {
    super("USAGE", redact(message));
  }
}

/** The user asked for help: `message` is the text to print. */
export class HelpRequest extends RangemakerError {
  constructor(text: string) {
    super("HELP", text);
  }
}
