"""The sentence patterns: a line of weight and English, then its Chinese line.

A slot "{table.column}" takes a form of the row drawn from that table (en or zh where no column is named); the same slot
on both sides, or twice on one side, is the same row; a digit ("{who2}") draws another one. Columns: see `tables.py`.
"""

from .statements import CLAUSES, STATEMENTS

_QUESTIONS = """\
3 Did {person} {dothe.base} {past}?
{person}{past}{dothe.le}吗？
2 Where did {person} {dothe.base}?
{person}是在哪里{dothe.zh}的？
2 When will {person} {dothe.base}?
{person}什么时候{dothe.zh}？
2 Why didn't {person} {dothe.base} {past}?
{person}{past}为什么没有{dothe.zh}？
2 Have you ever {known.done}?
你{known.guo}吗？
2 Have you been to {city}?
你去过{city}吗？
2 How much is this {goods}?
这{goods.m}{goods}多少钱？
2 How many {goods.many} did you buy {past}?
你{past}买了几{goods.m}{goods}？
1 Whose {goods} is this?
这是谁的{goods}？
1 Is this your {goods}, {name}?
{name}，这是你的{goods}吗？
2 Excuse me, how do I get to {sight}?
请问，去{sight}怎么走？
2 Which is {goods.er}, this {goods} or that one?
这{goods.m}{goods}和那{goods.m}，哪{goods.m}更{goods.zhadj}？
2 Do you prefer {sport.ing} or {sport2.ing}?
你更喜欢{sport}还是{sport2}？
2 Can you {sport.base}?
你会{sport}吗？
2 Would you like to {leisure.base} with me {soon}?
你{soon}想和我一起{leisure.zh}吗？
2 What will happen to {topic} after {later}?
{later}之后，{topic}会怎么样？
1 Who is going to {dothe.base}: {name} or {name2}?
谁要{dothe.zh}：{name}还是{name2}？
1 Do you know what {name} said to {name2}?
你知道{name}对{name2}说了什么吗？
"""

_COMPLEX = """\
3 because {weather.past}, {who} stayed at home and {athome.past}.
因为{weather}，{who}待在家里{athome.le}。
3 although {who} {who.was} very tired, {who.he} still {chore.past}.
虽然{who}很累，但{who.ta}还是{chore.le}。
3 if {weather.present} {soon}, {who} will stay at home and {athome.base}.
如果{soon}{weather}，{who}就会待在家里{athome.zh}。
2 if you want to {dothe.base}, please call {name}.
如果你想{dothe.zh}，请给{name}打电话。
3 {who} went {go.to} to {go.base} {past}.
{who}{past}{go.qu}{go.le}。
3 after {who} {result.past}, {who.he} {do.past} {do.at}.
{who}{result}以后，{who.ta}{do.zai}{do.le}。
3 before {who} {dothe.past}, {who.he} had {do.done}.
{who}{dothe.zh}之前，已经{do.le}。
2 {who} first {do.past}, then {do2.past}, and finally {do3.past}.
{who}先{do.le}，然后{do2.le}，最后{do3.le}。
3 while {name} was {do.ing} {do.at}, {name2} was {dothe.ing} {dothe.at}.
当{name}{do.zai}{do.zh}的时候，{name2}正{dothe.zai}{dothe.zh}。
2 the {role} who {do.past} {past} is {name}'s friend.
{past}{do.le}的那{role.m}{role}是{name}的朋友。
2 the {goods} that {who} bought {past} is very {goods.adj}.
{who}{past}买的那{goods.m}{goods}很{goods.zhadj}。
2 do you still remember the {role} who lived next to {sight} in {city}?
你还记得住在{city}{sight}旁边的那{role.m}{role}吗？
2 {name} told {name2} that {event}.
{name}告诉{name2}，{event}。
2 {who} heard that {plan}.
{who}听说{plan}。
2 {name} wanted to {purchase.base}, but {name.he} did not have enough money.
{name}想{purchase.zh}，可是钱不够。
2 {event}, so we were all very {feel}.
{event}，所以我们都很{feel}。
3 {event}, and {event2}.
{event}，{event2}。
3 {event}; {event2}, while {habitual}.
{event}；{event2}，而{habitual}。
2 {habitual}, but {habitual2}.
{habitual}，但是{habitual2}。
2 {trend}, while {trend2}.
{trend}，而{trend2}。
2 {name}, who lives in {city}, bought {goods.a} for {price} {past}.
住在{city}的{name}{past}花{price}买了一{goods.m}{goods}。
2 the more {who} learned about {topic}, the more interested {who.he} became.
{who}对{topic}了解得越多，就越感兴趣。
1 {who} not only {do.past}, but also {do2.past}.
{who}不仅{do.le}，而且还{do2.le}。
1 unless {weather.present} {soon}, we will go to {city} {travel}.
除非{soon}{weather}，否则我们会{travel}去{city}。
"""

_NEWS = """\
3 {org} announced on {day} that it {pledge}.
{org}{day}宣布，{pledge}。
3 according to a report published by {org} on {day}, {trend}, and {trend2}.
根据{org}{day}发表的一份报告，{trend}，{trend2}。
2 on {day}, {name}, a spokesperson for {org}, told reporters in {city} that it {pledge} and {pledge2}.
{day}，{org}发言人{name}在{city}对记者表示，该机构{pledge}，并且{pledge2}。
2 although {trend}, economists expect that {org} will spend another {money} on {topic} over the next {few} years.
尽管{trend}，但经济学家预计，{org}在未来{few}年内还将在{topic}方面投入{money}。
2 "we need more experts in {topic}," said {name}, an adviser to {org}, "and we need them now."
“我们需要更多{topic}方面的专家，”{org}顾问{name}说，“而且现在就需要。”
2 {name} said: "{country} and {country2} should work together on {topic}."
{name}说：“{country}和{country2}应该在{topic}方面合作。”
2 “{topic} is the key to our future,” {name} told an audience of {int} in {city} {past}.
“{topic}是我们未来的关键，”{name}{past}在{city}对{int}名听众说。
2 {past}, ministers from {country}, {country2} and {country3} met in {city} to discuss {topic} and {topic2}.
{past}，来自{country}、{country2}和{country3}的部长在{city}会面，讨论{topic}和{topic2}。
2 in {year}, {country} spent {money} on {topic}, {percent} more than in the previous year.
{year}，{country}在{topic}方面的支出为{money}，比上一年增加了{percent}。
2 the agreement between {country} and {country2} was signed in {city} on {date}.
{country}和{country2}之间的协议于{date}在{city}签署。
1 the exhibition, which was opened by {name} on {day}, shows {int} photos, {int2} letters and {few} paintings.
展览由{name}于{day}揭幕，展出了{int}张照片、{int2}封信和{few}幅画。
1 {name} and {name2} won the {year} prize for their research on {topic} & {topic2}.
{name}和{name2}凭借对{topic}与{topic2}的研究获得了{year}的奖项。
"""

_TITLES = """\
2 the future of {topic}
{topic}的未来
2 {topic}: challenges and opportunities
{topic}：挑战与机遇
1 chapter {digit}: {topic}
第{digit}章：{topic}
1 {topic} and {topic2} in {country}
{country}的{topic}与{topic2}
1 {topic} in {country}, {year}–2026
{year}至2026年{country}的{topic}
1 a letter from {city}
来自{city}的一封信
1 contents
目录
1 Q&A with {name}
{name}问答
1 Table {id}: {sector} (in {country})
表{id}：{country}{sector}
1 {topic}
{topic}
"""

_CHAT = """\
1 yes.
是的。
1 thank you!
谢谢！
1 no problem. {emoji.en}
没问题。{emoji.en}
1 good morning, {name}!
{name}，早上好！
1 happy birthday, {name}! {emoji.en}
{name}，生日快乐！{emoji.en}
1 see you {soon}, {name}! {emoji.en}
{name}，{soon}见！{emoji.en}
1 I bought {goods.a} {past}, and I love it! {emoji.en}
我{past}买了一{goods.m}{goods}，太喜欢了！{emoji.en}
1 welcome to {city}! {emoji.en}
欢迎来到{city}！{emoji.en}
1 how {goods.adj} this {goods} is! {emoji.en}
这{goods.m}{goods}真{goods.zhadj}啊！{emoji.en}
1 please wait a moment.
请稍等。
1 I don't know.
我不知道。
1 are you ready?
你准备好了吗？
1 please be careful with that {goods}.
请小心那{goods.m}{goods}。
1 let's {leisure.base} together {soon}! {emoji.en}
我们{soon}一起{leisure.zh}吧！{emoji.en}
1 for more information, visit www.example.org/news/{id}.
欲了解更多信息，请访问www.example.org/news/{id}。
1 please send your questions about {topic} to info{id}@example.com.
有关{topic}的问题，请发送至info{id}@example.com。
1 click "{menu}" to continue.
点击“{menu}”继续。
1 put the text between the {tag.en} tags on line {id}.
请把文字放在第{id}行的{tag.en}标签之间。
1 I'm {feel} today.
我今天很{feel}。
1 "hurry up!" said {name}.
“快点！”{name}说。
1 shopping list: {few} {food.many}, {few2} {food2.many} and {drink}.
购物清单：{few}{food.m}{food}、{few2}{food2.m}{food2}和{drink}。
"""

# Every group of patterns by the name that others embed it with; a group may embed those above it.
GROUPS: dict[str, str] = {
    **CLAUSES,
    "statement": STATEMENTS,
    "question": _QUESTIONS,
    "complex": _COMPLEX,
    "news": _NEWS,
    "title": _TITLES,
    "chat": _CHAT,
    "sentence": """\
34 {statement}
{statement}
7 {question}
{question}
32 {complex}
{complex}
18 {news}
{news}
4 {title}
{title}
5 {chat}
{chat}
""",
}
