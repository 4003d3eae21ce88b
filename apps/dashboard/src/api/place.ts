/** The path of PUBLIC_URL, without a slash at the end: empty, or for example `/images`. */
export const PUBLIC_PATH = readPath();

/** Path of the console's pages. */
export const CONSOLE = `${PUBLIC_PATH}/console`;

/** The service's URL, as this browser reaches it. */
export function serviceUrl(): string {
  return location.origin + PUBLIC_PATH;
}

/**
 * The server has the pages without the path too, for example on its own port. Cookies, the router and links need the
 * path, so such a page moves there; true while it does.
 */
export function movesToPath(): boolean {
  const { pathname, search, hash } = location;
  if (PUBLIC_PATH === '' || pathname === CONSOLE || pathname.startsWith(`${CONSOLE}/`)) return false;
  location.replace(PUBLIC_PATH + pathname + search + hash);
  return true;
}

function readPath(): string {
  // Unit tests have no document.
  const meta = 'document' in globalThis ? document.querySelector('meta[name="darkroom-path"]') : null;
  return meta?.getAttribute('content') ?? '';
}
