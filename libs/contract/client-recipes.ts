/** Values to enter in a client; see docs/clients.md for more. */
export interface ClientRecipe {
  /** The client's name, as used in a sentence. */
  readonly client: string;
  readonly where: string;
  /** Whether the fields are environment variables. */
  readonly env?: boolean;
  readonly fields: readonly (readonly [label: string, value: string])[];
}

interface Recipe extends Omit<ClientRecipe, 'fields'> {
  readonly fields: (url: string, key: string, model: string) => ClientRecipe['fields'];
}

/**
 * No client needs special key settings: by default, an image comes as both link and base64, and sizes may be in pixels.
 */
const RECIPES: Readonly<Record<string, Recipe>> = {
  openwebui: {
    client: 'Open WebUI',
    where: 'Admin Panel > Settings > Images, for Create Image and for Edit Image',
    fields: (url, key, model) => [
      ['Engine', 'Open AI'],
      ['API Base URL', url],
      ['API Key', key],
      ['Model', model],
      ['Image Size', '1024x1024, or another <width>x<height>'],
    ],
  },
  librechat: {
    client: 'LibreChat',
    where: '.env; then add OpenAI Image Tools to an agent',
    env: true,
    fields: (url, key, model) => [
      ['IMAGE_GEN_OAI_BASEURL', url],
      ['IMAGE_GEN_OAI_API_KEY', key],
      ['IMAGE_GEN_OAI_MODEL', model],
    ],
  },
  lobechat: {
    client: 'LobeChat',
    where: 'environment of the server, or Settings > AI Service Provider > OpenAI',
    fields: (url, key, model) => [
      ['OPENAI_PROXY_URL', url],
      ['OPENAI_API_KEY', key],
      ['Model', model],
    ],
  },
  n8n: {
    client: 'n8n',
    where: 'a credential of the type OpenAI; then the OpenAI node, resource Image',
    fields: (url, key, model) => [
      ['Base URL', url],
      ['API Key', key],
      ['Model', `${model} (From List)`],
    ],
  },
  'ai-sdk': {
    client: 'the AI SDK',
    where: 'createOpenAI or createOpenAICompatible; then generateImage with model: provider.imageModel(...)',
    fields: (url, key, model) => [
      ['baseURL', url],
      ['apiKey', key],
      ['imageModel', model],
    ],
  },
  langchain: {
    client: 'LangChain',
    where: 'new DallEAPIWrapper({ ... }) of @langchain/openai',
    fields: (url, key, model) => [
      ['baseUrl', url],
      ['apiKey', key],
      ['model', model],
    ],
  },
  dify: {
    client: 'Dify',
    where: "the OpenAI tool plugin's authorization; then its GPT Image 2 tools",
    fields: (url, key, model) => [
      ['OpenAI base URL', url],
      ['OpenAI API key', key],
      ['Model', model],
    ],
  },
  'cherry-studio': {
    client: 'Cherry Studio',
    where: 'Settings > Model Provider > Add, provider type New API',
    fields: (url, key, model) => [
      ['API Host', url.replace(/\/v1$/, '')],
      ['API Key', key],
      ['Model', `${model}, endpoint type Image Generation`],
    ],
  },
};

/** Names of the clients that have a recipe. */
export const RECIPE_CLIENTS: readonly string[] = Object.keys(RECIPES);

/** The API's address, and the key and model to use. */
interface ClientAccess {
  /** URL at which clients reach the API, without /v1. */
  readonly address: string;
  readonly key: string;
  readonly model?: string;
}

/** The values to enter in a client; undefined for a client without a recipe. */
export function clientRecipe(
  name: string,
  { address, key, model = 'gpt-image-2' }: ClientAccess,
): ClientRecipe | undefined {
  const recipe = RECIPES[name];
  return recipe && { ...recipe, fields: recipe.fields(`${address.replace(/\/$/, '')}/v1`, key, model) };
}

/** All clients that have a recipe, with their labels for a list. */
export const RECIPE_NAMES: readonly (readonly [name: string, label: string])[] = Object.entries(RECIPES).map(
  ([name, { client }]) => [name, client.replace(/^the /, '')],
);
