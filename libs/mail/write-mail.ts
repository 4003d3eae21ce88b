/** A mail for one address. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** Where the reader is to go. */
interface MailLink {
  readonly label: string;
  readonly url: string;
}

/** What a mail says; plain text throughout. */
export interface MailContent {
  /** The same for each try of one mail, so that a mailbox which got it twice shows it once. */
  readonly id?: string;
  readonly to: string;
  readonly subject: string;
  readonly paragraphs: readonly string[];
  /** Behind the paragraphs, each on a line of its own. */
  readonly links?: readonly MailLink[];
  /** In small print at the end: why this came, and what happens if one does nothing. */
  readonly footer: string;
}

const FONT = 'font-family:system-ui,-apple-system,"Segoe UI",Roboto,sans-serif';

/** The same words as plain text and as simple HTML, which needs no style sheet and loads nothing. */
export function writeMail({ to, subject, paragraphs, links = [], footer }: MailContent): Mail {
  const text = [...paragraphs, ...links.map(({ label, url }) => `${label}:\n${url}`), `--\n${footer}`];
  const body = [
    ...paragraphs.map((paragraph) => `<p>${escapeHtml(paragraph)}</p>`),
    ...links.map(({ label, url }) => `<p><a href="${escapeHtml(url)}">${escapeHtml(label)}</a></p>`),
    `<p style="color:#666;font-size:13px">${escapeHtml(footer)}</p>`,
  ];
  return {
    ...{ to, subject: oneLine(subject), text: `${text.join('\n\n')}\n` },
    html: `<!doctype html><html lang="en"><body style='${FONT};line-height:1.5'>${body.join('')}</body></html>`,
  };
}

/** Names in a subject are what people typed. */
function oneLine(text: string): string {
  return text.replace(/\s+/gu, ' ').trim();
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
