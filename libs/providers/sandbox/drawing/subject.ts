import type { Mood } from './palette.js';

/** What a landscape shows. */
export type Place = 'mountains' | 'desert' | 'forest' | 'meadow' | 'city' | 'sea' | 'space';
/** What an image shows: a landscape, a subject in its middle, or colors alone. */
export type Motif = Place | 'animal' | 'still-life' | 'abstract';

/** What a prompt seems to be about. */
export interface Subject {
  /** All its words in lower case, and their singular forms. */
  readonly words: ReadonlySet<string>;
  readonly motif: Motif | undefined;
  /** A motif that suits the background of a cut-out image. */
  readonly backdrop: Motif | undefined;
  readonly mood: Mood | undefined;
}

// The first match wins: a cat in a city is an image of a cat.
const MOTIFS: readonly (readonly [Motif, string])[] = [
  [
    'animal',
    'cat kitten dog puppy fox bear panda rabbit bunny wolf tiger lion owl mouse koala animal pet 猫 狗 狐 熊 兔 虎 gato perro chat chien katze hund кошка кот собака 犬',
  ],
  [
    'space',
    'space planet galaxy rocket astronaut universe cosmos cosmic mars saturn nebula comet orbit spaceship alien starship satellite 太空 宇宙 星球 火箭',
  ],
  [
    'still-life',
    'cup coffee tea mug bottle product fruit apple lemon orange bowl wine vase table food cake breakfast kitchen perfume lamp 咖啡 茶 水果 杯',
  ],
  [
    'meadow',
    'flower meadow garden rose tulip bloom blossom bouquet daisy poppy sunflower floral botanical petal orchid lavender peony 花 玫瑰 樱花',
  ],
  [
    'city',
    'city street skyline skyscraper tower building town downtown cyberpunk urban metropolis tokyo york london paris shanghai bridge car traffic 城市 街 楼 ciudad ville stadt город 都市',
  ],
  [
    'sea',
    'sea ocean beach wave boat ship sail sailing island harbour harbor lighthouse surf coast whale fish bay lagoon yacht 海 船 岛 灯塔 mar mer meer море',
  ],
  [
    'forest',
    'forest wood woodland pine jungle deer mushroom camp cabin campfire tree grove owl 森林 树 林 bosque forêt wald лес',
  ],
  ['desert', 'desert dune sahara 沙漠'],
  [
    'mountains',
    'mountain hill valley landscape nature field snow lake river sunrise sunset canyon peak cliff countryside farm house cottage village castle horizon sky balloon 山 湖 雪 日落 日出 风景 montaña montagne berg горы',
  ],
  [
    'abstract',
    'logo pattern geometric abstract poster minimal minimalist bauhaus icon shape square circle mosaic tile grid music dream flow dance wind smoke silk fluid gradient wallpaper background energy wave 图案 几何 抽象 音乐 梦',
  ],
];

const MOODS: readonly (readonly [Mood, string])[] = [
  ['neon', 'neon cyberpunk synthwave vaporwave futuristic glowing disco 霓虹 赛博朋克'],
  [
    'night',
    'night midnight moon moonlight moonlit star starry dark space galaxy rocket planet astronaut cosmos cosmic universe mars saturn nebula comet orbit spaceship starship satellite alien 太空 宇宙 星球 火箭 夜 月 星 noche nuit nacht ночь',
  ],
  ['sunset', 'sunset dusk evening golden twilight fire 日落 黄昏 晚霞'],
  ['dawn', 'dawn sunrise morning mist misty fog foggy 日出 清晨 晨'],
  ['autumn', 'autumn fall october harvest pumpkin maple coffee 秋'],
  ['winter', 'winter snow snowy ice icy frozen christmas arctic 冬 雪'],
  ['storm', 'storm rain rainy thunder grey gray noir gloomy 雨 暴风'],
  ['desert', 'desert dune sahara canyon camel cactus egypt 沙漠'],
  ['pastel', 'pastel cute dream dreamy kawaii soft baby candy 可爱 梦'],
  ['spring', 'spring flower garden blossom meadow bloom green cherry tulip 春 花'],
  ['ocean', 'sea ocean beach island tropical underwater surf summer lighthouse 海 夏'],
  ['day', 'day noon summer sunny bright city mountain lake 山 城市 白天'],
];

/** Finds a prompt's motif and mood by its words; both may be undefined. */
export function readSubject(prompt: string): Subject {
  const text = prompt.slice(0, 4000).toLowerCase();
  const words = new Set(
    text.split(/[^\p{L}\p{N}]+/u).flatMap((word) => [word, word.replace(/(?:es|s)$/u, ''), word.replace(/s$/u, '')]),
  );
  for (const character of text) if (/\p{Script=Han}/u.test(character)) words.add(character);
  const names = (list: string): boolean =>
    list.split(' ').some((word) => words.has(word) || (/\p{Script=Han}/u.test(word) && text.includes(word)));
  return {
    words,
    motif: MOTIFS.find(([, list]) => names(list))?.[0],
    backdrop: MOTIFS.find(([name, list]) => name !== 'animal' && name !== 'still-life' && names(list))?.[0],
    mood: MOODS.find(([, list]) => names(list))?.[0],
  };
}
