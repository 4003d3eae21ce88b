/** Why signing in with the provider ended on the sign-in page, in words; `provider` is its name. */
const SENTENCES: Readonly<Record<string, (provider: string) => string>> = {
  not_begun: () => 'The sign-in took too long, or was begun in another browser. Begin again.',
  denied: (provider) => `You did not finish signing in with ${provider}.`,
  unavailable: (provider) => `${capitalised(provider)} does not answer. Try again in a moment.`,
  unverified: (provider) =>
    `${capitalised(provider)} does not confirm your e-mail address. Ask an administrator for an invitation link.`,
  not_invited: () => 'You have no account here yet. Open the link of your invitation, or ask an administrator for one.',
  taken: () => 'Your e-mail address belongs to somebody with another sign-in. Ask an administrator for help.',
  disabled: () => 'Your account here is switched off. Ask an administrator.',
  link_used: () => 'This link was used already, or is too old. Ask for a new one.',
  too_often: () => 'Too many attempts. Try again in a quarter of an hour.',
};

/** A sentence for a code of the address bar; whatever else stands there is never shown. */
export function refusalText(code: string, provider: string): string {
  return Object.hasOwn(SENTENCES, code)
    ? (SENTENCES[code]?.(provider) ?? '')
    : `Signing in with ${provider} did not work. Try again.`;
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
