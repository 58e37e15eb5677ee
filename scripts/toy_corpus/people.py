"""Persons as subjects: pronouns, family, occupations and names, with the forms that agree with them."""

import itertools
from collections.abc import Iterator

# Columns of the tables of persons: ta is the Chinese pronoun; was, is, has, does agree in English.
COLUMNS = ("en", "zh", "he", "him", "his", "ta", "was", "is", "has", "does")

_SINGULAR = ("was", "is", "has", "does")
_PLURAL = ("were", "are", "have", "do")
_HE = ("he", "him", "his", "他", *_SINGULAR)
_SHE = ("she", "her", "her", "她", *_SINGULAR)
_THEY = ("they", "them", "their", "他们", *_PLURAL)
_WE = ("we", "us", "our", "我们", *_PLURAL)

Person = tuple[str, ...]

# "english=Chinese/measure word"
ROLES = """teacher=老师/位 doctor=医生/位 student=学生/名 engineer=工程师/名 driver=司机/名 nurse=护士/名
lawyer=律师/名
journalist=记者/名 writer=作家/位 scientist=科学家/位 farmer=农民/位 worker=工人/名 singer=歌手/名 professor=教授/位
manager=经理/位
artist=艺术家/位 chef=厨师/名 actor=演员/名 translator=翻译/名 police_officer=警察/名 athlete=运动员/名
accountant=会计/名
architect=建筑师/名 dentist=牙医/名 pilot=飞行员/名 musician=音乐家/位 judge=法官/名 researcher=研究员/名
designer=设计师/名
photographer=摄影师/名 editor=编辑/名 programmer=程序员/名 soldier=士兵/名 guide=导游/名 librarian=图书管理员/名
economist=经济学家/位 biologist=生物学家/位 firefighter=消防员/名 tailor=裁缝/名 gardener=园丁/名"""

_KIN = """my mother=我妈妈=f my father=我爸爸=m my brother=我哥哥=m my sister=我姐姐=f my friend=我朋友=m my
grandmother=我奶奶=f
my uncle=我叔叔=m my aunt=我阿姨=f my grandfather=我爷爷=m my wife=我妻子=f my husband=我丈夫=m my colleague=我同事=f
our neighbour=我们的邻居=m my cousin=我表哥=m my daughter=我女儿=f my son=我儿子=m her boss=她的老板=m his
classmate=他的同学=f"""

_GROUPS = """the students=学生们 my parents=我父母 the children=孩子们 many people=很多人 the tourists=游客们
the workers=工人们 my friends=我的朋友们 the players=队员们 some of the guests=一些客人 the villagers=村民们
my classmates=我的同学们 the two sisters=这两姐妹 our neighbours=我们的邻居们 the volunteers=志愿者们"""

_SURNAMES = """Wang=王 Li=李 Zhang=张 Liu=刘 Chen=陈 Yang=杨 Zhao=赵 Huang=黄 Zhou=周 Wu=吴 Xu=徐 Sun=孙 Ma=马 Zhu=朱
Hu=胡 Guo=郭
He=何 Lin=林 Gao=高 Luo=罗 Zheng=郑 Liang=梁 Xie=谢 Song=宋 Tang=唐 Xu=许 Deng=邓 Han=韩 Feng=冯 Cao=曹 Ouyang=欧阳"""
_GIVEN = """Wei=伟=m Fang=芳=f Na=娜=f Min=敏=f Jing=静=f Lei=磊=m Qiang=强=m Yang=洋=m Yan=艳=f Jun=军=m Jie=杰=m
Juan=娟=f Tao=涛=m
Chao=超=m Xiuying=秀英=f Ming=明=m Gang=刚=m Ping=平=m Guiying=桂英=f Hui=辉=m Xiaoming=晓明=m Yuting=雨婷=f
Haoran=浩然=m
Zihan=子涵=f Jiayi=佳怡=f Wenjie=文杰=m Meiling=美玲=f Zhiqiang=志强=m Xueqin=雪琴=f Jianguo=建国=m Lihua=丽华=f
Yichen=一晨=m"""
# Western, accented and Japanese names; 𠮷 and 𤋮 are in CJK Extension B.
_FOREIGN = """Anna=安娜=f Tom=汤姆=m Mary=玛丽=f David=大卫=m John=约翰=m Lucy=露西=f Peter=彼得=m Emma=艾玛=f
Michael=迈克尔=m
Sarah=萨拉=f Jack=杰克=m Linda=琳达=f Paul=保罗=m José=何塞=m Alice=爱丽丝=f Robert=罗伯特=m François=弗朗索瓦=m
Helen=海伦=f
Zoë=佐伊=f Kevin=凯文=m Mr Yoshida=𠮷田先生=m Sofía=索菲娅=f Jürgen=于尔根=m Daniel=丹尼尔=m Renée=勒妮=f Søren=索伦=m
Grace=格蕾丝=f André=安德烈=m Ms Yoshikawa=𠮷川女士=f Björn=比约恩=m Olivia=奥利维娅=f Mr O'Brien=奥布赖恩先生=m
Anne-Marie=安妮-玛丽=f Dr Yoshinaga=𠮷永博士=f Łukasz=卢卡什=m Ms Müller=米勒女士=f Professor Smith=史密斯教授=m
Chan Hei=陈𤋮=m Mrs García=加西亚太太=f Ingrid=英格丽德=f"""


def _entries(text: str) -> Iterator[tuple[str, ...]]:
    """Splits "en=zh=gender" entries; an entry begins where the word with the first "=" begins, spaces included."""
    fields: list[str] = []
    for word in text.split():
        head, equals, tail = word.partition("=")
        fields.append(head)
        if equals:
            yield " ".join(fields), *tail.split("=")
            fields = []


def _gendered(text: str) -> list[Person]:
    return [(en, zh, *(_HE if gender == "m" else _SHE)) for en, zh, gender in _entries(text)]


def chinese_names() -> list[Person]:
    """Returns every surname with every given name, the most frequent combinations first."""
    surnames, given = list(_entries(_SURNAMES)), list(_entries(_GIVEN))
    ranked = sorted(
        itertools.product(enumerate(surnames), enumerate(given)), key=lambda p: (p[0][0] + 1) * (p[1][0] + 1)
    )
    return [
        (f"{surname} {name}", zh_surname + zh_name, *(_HE if gender == "m" else _SHE))
        for (_, (surname, zh_surname)), (_, (name, zh_name, gender)) in ranked
    ]


def foreign_names() -> list[Person]:
    """Returns the names that are not Chinese."""
    return _gendered(_FOREIGN)


def singular_persons() -> list[Person]:
    """Returns pronouns, family and occupations in the third person singular."""
    roles = [
        (
            f"the {role.replace('_', ' ')}",
            f"""那{zh.partition("/")[2]}{zh.partition("/")[0]}""",
            *(_SHE if i % 2 else _HE),
        )
        for i, (role, zh) in enumerate(_entries(ROLES))
    ]
    return [("he", "他", *_HE), ("she", "她", *_SHE), *_gendered(_KIN), *roles]


def plural_persons() -> list[Person]:
    """Returns the subjects that take the plural verb (and the base form in the present tense)."""
    groups: list[Person] = [(en, zh, *_THEY) for en, zh in _entries(_GROUPS)]
    me = ("I", "我", "I", "me", "my", "我", "was", "am", "have", "do")
    return [me, ("we", "我们", *_WE), ("they", "他们", *_THEY), *groups]
