/** The catalog when nothing is configured. */
export const SANDBOX_CATALOG = `
providers:
  sandbox: { type: sandbox }
models:
  gpt-image-2: { kind: image, routes: [{ provider: sandbox }] }
  gpt-5.5: { kind: chat, routes: [{ provider: sandbox }] }
  gpt-5.4: { kind: chat, routes: [{ provider: sandbox }] }
`;

/**
 * The catalog when only OPENAI_API_KEY is set. `baseUrl` is OPENAI_BASE_URL; `imageModel` is OPENAI_IMAGE_MODEL, the
 * provider's name for the image model.
 */
export const openAiCatalog = (baseUrl?: string, imageModel?: string): string => `
providers:
  openai: { type: openai, ${baseUrl ? `base_url: ${JSON.stringify(baseUrl)}, ` : ''}keys: [{ env: OPENAI_API_KEY }] }
models:
  gpt-image-2: { kind: image, routes: [{ provider: openai${imageModel ? `, model: ${JSON.stringify(imageModel)}` : ''} }] }
  gpt-5.5: { kind: chat, routes: [{ provider: openai }] }
  gpt-5.4: { kind: chat, routes: [{ provider: openai }] }
`;

export const OPENAI_CATALOG = openAiCatalog();
