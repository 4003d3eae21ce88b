/** A finished email. */
export interface Mail {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** A link for the reader to follow. */
interface MailLink {
  readonly label: string;
  readonly url: string;
}

/** The content of an email, as plain text. */
export interface MailContent {
  /** The same for every attempt, so that a mailbox that received the email twice shows it once. */
  readonly id?: string;
  readonly to: string;
  readonly subject: string;
  readonly paragraphs: readonly string[];
  /** Shown below the paragraphs, one per line. */
  readonly links?: readonly MailLink[];
  /** Small print at the end: why the email was sent, and what happens if the reader does nothing. */
  readonly footer: string;
}

const FONT = 'font-family:system-ui,-apple-system,"Segoe UI",Roboto,sans-serif';

/** The content as plain text and as simple HTML, which needs no style sheet and loads nothing. */
export function writeMail({ subject, paragraphs, links = [], footer }: MailContent): Mail {
  const text = [...paragraphs, ...links.map(({ label, url }) => `${label}:\n${url}`), `--\n${footer}`];
  const body = [
    ...paragraphs.map((paragraph) => `<p>${escapeHtml(paragraph)}</p>`),
    ...links.map(({ label, url }) => `<p><a href="${escapeHtml(url)}">${escapeHtml(label)}</a></p>`),
    `<p style="color:#666;font-size:13px">${escapeHtml(footer)}</p>`,
  ];
  return {
    subject: oneLine(subject),
    text: `${text.join('\n\n')}\n`,
    html: `<!doctype html><html lang="en"><body style='${FONT};line-height:1.5'>${body.join('')}</body></html>`,
  };
}

/** Subjects contain names that users typed, so line breaks are removed. */
function oneLine(text: string): string {
  return text.replace(/\s+/gu, ' ').trim();
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
