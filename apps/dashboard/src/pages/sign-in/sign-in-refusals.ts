/** Why signing in with the provider failed; `provider` is its name. */
const SENTENCES: Readonly<Record<string, (provider: string) => string>> = {
  not_begun: () => 'The sign-in took too long or was started in another browser. Start again.',
  denied: (provider) => `You did not finish signing in with ${provider}.`,
  unavailable: (provider) => `${capitalised(provider)} is not responding. Try again in a moment.`,
  unverified: (provider) =>
    `${capitalised(provider)} has not verified your email address. Ask an owner or admin for an invitation link.`,
  not_invited: () => 'You have no account here yet. Open your invitation link, or ask an owner or admin for one.',
  taken: () => 'Your email address belongs to someone who signs in another way. Ask an owner or admin for help.',
  disabled: () => 'Your access is disabled. Ask an owner or admin to enable it.',
  link_used: () => 'This link no longer works: it was used, replaced, or has expired. Ask for a new one.',
  too_often: () => 'Too many attempts. Try again in 15 minutes.',
};

/** The sentence for a code in the URL; an unknown code is never shown. */
export function refusalText(code: string, provider: string): string {
  return Object.hasOwn(SENTENCES, code)
    ? (SENTENCES[code]?.(provider) ?? '')
    : `Could not sign in with ${provider}. Try again.`;
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
