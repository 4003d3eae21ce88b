/** What a user enters in a client; docs/clients.md says more. */
export interface ClientRecipe {
  /** The client's name in a sentence. */
  readonly client: string;
  readonly where: string;
  /** Whether the fields are environment variables. */
  readonly env?: boolean;
  readonly fields: readonly (readonly [label: string, value: string])[];
}

interface Recipe extends Omit<ClientRecipe, 'fields'> {
  readonly fields: (url: string, key: string, model: string) => ClientRecipe['fields'];
}

/** No client needs a setting of its key: an image comes as link and as base64, and sizes may be pixels. */
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

/** Clients that there is a recipe for. */
export const RECIPE_CLIENTS: readonly string[] = Object.keys(RECIPES);

/** Where to find the API, and what with. */
interface ClientAccess {
  /** Where clients reach the API, without /v1. */
  readonly address: string;
  readonly key: string;
  readonly model?: string;
}

/** What to enter where; undefined for a client without a recipe. */
export function clientRecipe(
  name: string,
  { address, key, model = 'gpt-image-2' }: ClientAccess,
): ClientRecipe | undefined {
  const recipe = RECIPES[name];
  return recipe && { ...recipe, fields: recipe.fields(`${address.replace(/\/$/, '')}/v1`, key, model) };
}

/** Every client that there is a recipe for, and its name in a list. */
export const RECIPE_NAMES: readonly (readonly [name: string, label: string])[] = Object.entries(RECIPES).map(
  ([name, { client }]) => [name, client.replace(/^the /, '')],
);
