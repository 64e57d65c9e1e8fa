import { memberText, replaceMember } from "../router/json_text.ts";

/** What the hub looks at in a frame of the node: an answer has an id, a notification a method. */
export interface NodeFrame {
  id?: unknown;
  method?: unknown;
  params?: { subscription?: unknown; result?: unknown } | null;
}

/** Reads a frame. @returns Undefined where it is no JSON object, for the caller to count and log. */
export function parseNodeFrame(text: string): NodeFrame | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A notification under the id that clients know; all else of it stays as the node wrote it. */
export function underPublicId(
  text: string,
  upstreamId: string,
  publicId: string | undefined,
): string {
  if (publicId === undefined || publicId === upstreamId) return text;
  const params = memberText(text, "params") ?? "";
  const translated = replaceMember(params, "subscription", JSON.stringify(publicId));
  return replaceMember(text, "params", translated);
}
