/** Longer names have room for a message of their own. */
const MAX_SHOWN_NAME = 40;
/** What mail programs turn into links: addresses, domains, and schemes, with the dots of other scripts. */
const LINK_LIKE = /[/\\:@]|www|[.\u2024\u3002\uff61]\S/iu;

/**
 * A name as it may stand in a mail: the name of an account is a text that strangers read, so a name that a mail program could turn into a link, or that is as long as a message, is left out.
 */
export function nameInMail(name: string, instead = 'an account'): string {
  const plain = name.normalize('NFKC').trim();
  return [...plain].length > MAX_SHOWN_NAME || LINK_LIKE.test(plain) ? instead : plain;
}
