import { crc32 } from "node:zlib";

/** Eight hex digits and a space before the text. */
const CHECKSUM_BYTES = 9;

/** A line of text with its checksum before it, so that a torn or damaged one is seen. */
export function encodeLine(text: string): string {
  return `${checksum(new TextEncoder().encode(text))} ${text}\n`;
}

/** The text of a line without its newline, or undefined where it is not what was written. */
export function decodeLine(line: Uint8Array): string | undefined {
  const text = line.subarray(CHECKSUM_BYTES);
  const expected = new TextDecoder().decode(line.subarray(0, CHECKSUM_BYTES - 1));
  return checksum(text) === expected ? new TextDecoder().decode(text) : undefined;
}

function checksum(bytes: Uint8Array): string {
  return crc32(bytes).toString(16).padStart(8, "0");
}
