/** Resolves in the next turn of the event loop, after everything that is ready has run. */
export const nextTurn = () => new Promise<void>((resolve) => setTimeout(resolve, 0));
