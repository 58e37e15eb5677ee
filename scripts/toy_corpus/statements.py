"""Patterns of clauses and of simple statements, in the notation of `patterns.py`."""

# Clauses that patterns embed; a clause may embed those above it.
CLAUSES: dict[str, str] = {
    "event": """\
4 {who} {do.past} {past}
{who}{past}{do.le}
4 {who} {do.past} {do.at} {past}
{who}{past}{do.zai}{do.le}
2 {who} {dothe.past} {dothe.at} {past}
{who}{past}{dothe.zai}{dothe.le}
2 {who} {result.past} {past}
{who}{past}{result}了
1 {who} went to {city} {travel} {past}
{who}{past}{travel}去了{city}
1 {who} stayed at home and {athome.past} {past}
{who}{past}待在家里{athome.le}
""",
    "plan": """\
3 {who} will {do.base} {do.at} {future}
{who}{future}会{do.zai}{do.zh}
2 {who} {who.is} going to {dothe.base} {future}
{who}{future}要{dothe.zh}
1 {who} {who.is} going to {city} {travel} {future}
{who}{future}要{travel}去{city}
""",
    "habitual": """\
3 {person} {dos.s} {dos.at} {habit}
{person}{habit}都{dos.zai}{dos.zh}
2 {plural} {dos.base} {dos.at} {habit}
{plural}{habit}都{dos.zai}{dos.zh}
2 {person} {often} {dos.s} {dos.at}
{person}{often}{dos.zai}{dos.zh}
1 {person} goes to {sight} {ride} {habit}
{person}{habit}都{ride}去{sight}
""",
    "trend": """\
3 {sector} rose by {percent} in {year}
{year}{sector}上升了{percent}
3 {sector} in {country} fell by {percent}
{country}的{sector}下降了{percent}
2 {sector} grew faster in {country} than in {country2}
{country}的{sector}比{country2}增长得更快
1 {sector} in {city} have hardly changed since {year}
{year}以来，{city}的{sector}几乎没有变化
""",
    "pledge": """\
3 will invest {money} in {topic}
将在{topic}方面投资{money}
2 plans to open a new office in {city} on {day}
计划于{day}在{city}开设新的办事处
2 has spent {money} on {topic} since {year}
自{year}以来在{topic}方面已经花费{money}
1 will hire {int} people in {city}
将在{city}招聘{int}人
1 has reached an agreement on {topic} with the government of {country}
已与{country}政府就{topic}达成协议
1 expects its income to rise to {money} in {later}
预计{later}的收入将增至{money}
""",
}

STATEMENTS = """\
12 {event}.
{event}。
6 {plan}.
{plan}。
6 {habitual}.
{habitual}。
5 {trend}.
{trend}。
5 {org} {pledge}.
{org}{pledge}。
3 {who} {who.was} {do.ing} {do.at}.
{who}正{do.zai}{do.zh}。
2 {who} {who.has} already {result.done}.
{who}已经{result}了。
2 {who} did not {dothe.base} {past}.
{who}{past}没有{dothe.zh}。
2 {who} {who.does} not want to {dothe.base}.
{who}不想{dothe.zh}。
2 {name} met {name2} in {city} {past} and gave {name2.him} {goods.a}.
{name}{past}在{city}遇到了{name2}，并送给{name2.ta}一{goods.m}{goods}。
2 {who} {who.has} never {known.done}.
{who}从来没有{known.guo}。
2 {who} {who.has} not {result.done} yet.
{who}还没有{result}。
2 {name} is {role.a}.
{name}是一{role.m}{role}。
3 {name} is {role.a} from {country}.
{name}是一{role.m}来自{country}的{role}。
2 {name} lives in {city} and works for {org}.
{name}住在{city}，在{org}工作。
2 {person} likes {sport.ing}.
{person}喜欢{sport}。
2 {person} likes {sport.ing}, but {person.he} does not like {sport2.ing}.
{person}喜欢{sport}，但是不喜欢{sport2}。
2 {person} is good at {sport.ing}.
{person}擅长{sport}。
2 {name} has been studying {subject} at the university since {year}.
从{year}起，{name}一直在大学学习{subject}。
2 {who} {who.was} very {feel} {past}.
{who}{past}很{feel}。
3 {there.at} {there.s} {there}.
{there}。
3 There {there.s} {there} {there.at}.
{there}。
2 This {goods} is very {goods.adj}.
这{goods.m}{goods}很{goods.zhadj}。
2 This {goods} is {goods.er} than that one.
这{goods.m}{goods}比那{goods.m}更{goods.zhadj}。
2 {who.his} {goods} is not as {goods.adj} as this one.
{who.ta}的{goods}没有这{goods.m}{goods.zhadj}。
2 Of all the {goods.many} in the shop, this one is the most expensive.
在店里所有的{goods}当中，这{goods.m}最贵。
2 The {goods} costs {price}.
这{goods.m}{goods}的价格是{price}。
2 {name} sold {name.his} {goods} for {price}.
{name}以{price}的价格把{name.ta}的{goods}卖掉了。
2 {name} gave {name2} {goods.a} for {name2.his} birthday.
{name}送给{name2}一{goods.m}{goods}作为生日礼物。
2 The train to {city} leaves at {clock}.
开往{city}的火车{clock}出发。
2 The meeting on {topic} will begin on {day} at {clock}.
关于{topic}的会议将于{day}{clock}开始。
2 {name} was born in {city} on {date}.
{name}于{date}出生在{city}。
2 {name}, {age}, has worked as {profession.a} in {city} for {few} years.
{age}岁的{name}在{city}当了{few}年{profession}。
1 {name}'s {goods} was made in {country}.
{name}的{goods}是{country}制造的。
1 The temperature in {city} reached {deg} °C on {day}.
{day}，{city}的气温达到{deg}°C。
1 If the temperature is < {deg} °C, the machine stops automatically.
如果温度 < {deg}°C，机器会自动停止。
1 The test is passed if the score is > {deg}.
如果分数 > {deg}，则测试通过。
1 {element} is a chemical element with atomic number {element.number}.
{element}是一种化学元素，原子序数为{element.number}。
2 About {int} people visited {attraction} in {city} {past}.
{past}约有{int}人参观了{city}的{attraction}。
2 The population of {city} is {percent} larger than it was in {year}.
{city}的人口比{year}多{percent}。
2 Only {percent} of the {int} people surveyed in {country} were {feel}.
在{country}接受调查的{int}人中，只有{percent}的人感到{feel}。
2 It takes {duration} to get from {sight} to {sight2} {ride}.
从{sight}到{sight2}，{ride}需要{duration}。
1 {person} spent {duration} {chore.ing}.
{person}花了{duration}{chore.zh}。
1 {name} and {name2} have known each other since {year}.
{name}和{name2}从{year}起就认识了。
2 {person} can {sport.base} very well.
{person}{sport}{sport.v}得很好。
2 {name} can {sport.base} better than {name2}.
{name}{sport}{sport.v}得比{name2}好。
2 {who} {manner} {chore.past}.
{who}{manner}{chore.le}。
2 {name} was wearing {wear}.
{name}{wear}。
2 {person} came in, wearing {wear}.
{person}{wear}走了进来。
2 {person} has been {dos.ing} for {duration}.
{person}{dos.zh}已经{dos.verb}了{duration}了。
2 {result.the} was {result.passive} by {name} {past}.
{result.thing}{past}被{name}{result.verb}了。
2 These {food.many} are {food.er} than those.
这些{food}比那些更{food.zhadj}。
"""
