import { TOKEN_CLASSES, type TokenClass } from '#contract/token-classes.js';

/** Of image models; chats only have text, so theirs say input and output. */
export const TOKEN_LABELS: Readonly<Record<TokenClass, string>> = {
  input: 'Text input',
  cached_input: 'Cached text input',
  image_input: 'Image input',
  cached_image_input: 'Cached image input',
  output: 'Image output',
  text_output: 'Text output',
  svg_input: 'SVG input',
  svg_output: 'SVG output',
};

const CHAT_LABELS = { input: 'Input', cached_input: 'Cached input', output: 'Output' } as const;

/** The classes that models of this kind use, with their labels. */
export function tokenClassesOf(kind: 'image' | 'chat'): [TokenClass, string][] {
  const labels: Partial<Record<TokenClass, string>> = kind === 'chat' ? CHAT_LABELS : TOKEN_LABELS;
  return TOKEN_CLASSES.flatMap((name) => (labels[name] === undefined ? [] : [[name, labels[name]]]));
}
