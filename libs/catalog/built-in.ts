/** What is served when nothing is set. */
export const SANDBOX_CATALOG = `
providers:
  sandbox: { type: sandbox }
models:
  gpt-image-2: { kind: image, routes: [{ provider: sandbox }] }
  gpt-5.5: { kind: chat, routes: [{ provider: sandbox }] }
  gpt-5.4: { kind: chat, routes: [{ provider: sandbox }] }
`;

/**
 * What is served when OPENAI_API_KEY alone is set; `baseUrl` is where OPENAI_BASE_URL says that OpenAI is, `imageModel`
 * what OPENAI_IMAGE_MODEL says that it calls the image model.
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
