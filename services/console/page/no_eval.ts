/** Imported first: zod must not try to compile code, which the page's security policy forbids. */
import * as z from "zod";

z.config({ jitless: true });
