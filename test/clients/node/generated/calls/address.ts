/** Where the client of orval calls; known only when it runs. */
export const address: { url: string } = { url: '' };
