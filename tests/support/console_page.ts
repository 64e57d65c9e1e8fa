import { loadPage, type PageFiles } from "../../services/console/mod.ts";

let page: Promise<PageFiles> | undefined;

/** The files of the console, bundled and compressed once for all tests of an isolate. */
export function consolePage(): Promise<PageFiles> {
  return page ??= loadPage();
}
