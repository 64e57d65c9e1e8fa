import { loadPage, type PageFiles } from "../../services/console/mod.ts";

let page: Promise<PageFiles> | undefined;

/** The files of the console, bundled once for all tests of an isolate; not packed best: that takes 2 s. */
export function consolePage(): Promise<PageFiles> {
  return page ??= loadPage().then((files) => {
    for (const file of files.values()) file.findBrotli = () => undefined;
    return files;
  });
}
