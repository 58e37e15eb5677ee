"""Names of cities, organisations, topics and times, and other phrases that need no inflection.

A table has columns, and rows of the form "english=Chinese" separated by bars, the most frequent first.
"""

PHRASES: dict[str, tuple[str, str]] = {
    "city": (
        "en zh",
        """Beijing=北京|Shanghai=上海|London=伦敦|New York=纽约|Guangzhou=广州|Paris=巴黎|Tokyo=东京|Shenzhen=深圳
        |Hong Kong=香港
        |Berlin=柏林|Hangzhou=杭州|Nanjing=南京|Chengdu=成都|Wuhan=武汉|Xi'an=西安|Moscow=莫斯科|Singapore=新加坡
        |Sydney=悉尼
        |Toronto=多伦多|Qingdao=青岛|Rome=罗马|Madrid=马德里|Seoul=首尔|Chicago=芝加哥|Kunming=昆明|Geneva=日内瓦
        |Vienna=维也纳
        |Cairo=开罗|São Paulo=圣保罗|Istanbul=伊斯坦布尔|Nairobi=内罗毕|Zürich=苏黎世|Lhasa=拉萨|Harbin=哈尔滨
        |Oslo=奥斯陆""",
    ),
    "country": (
        "en zh",
        """China=中国|the United States=美国|Japan=日本|Germany=德国|France=法国|the United Kingdom=英国|India=印度
        |Russia=俄罗斯
        |Brazil=巴西|South Korea=韩国|Canada=加拿大|Australia=澳大利亚|Italy=意大利|Spain=西班牙|Mexico=墨西哥
        |Indonesia=印度尼西亚
        |Egypt=埃及|South Africa=南非|Thailand=泰国|Vietnam=越南|Kenya=肯尼亚|Argentina=阿根廷|Turkey=土耳其
        |Poland=波兰
        |Sweden=瑞典|Norway=挪威|Switzerland=瑞士|Chile=智利|Côte d'Ivoire=科特迪瓦|New Zealand=新西兰""",
    ),
    "org": (
        "en zh",
        """the company=该公司|the government=政府|the World Bank=世界银行|the central bank=央行
        |the Ministry of Education=教育部
        |the university=该大学|the city council=市议会|the airline=该航空公司
        |the World Health Organization=世界卫生组织
        |the European Union=欧盟|the hospital=该医院|the United Nations=联合国|the Ministry of Finance=财政部
        |the museum=博物馆
        |the research institute=该研究所|the National Bureau of Statistics=国家统计局|the committee=委员会
        |the court=法院
        |the R&D centre=研发中心|the foundation=基金会|the trade union=工会|the publisher=出版社
        |the railway company=铁路公司
        |the insurance company=保险公司|the Health & Safety Office=健康与安全办公室""",
    ),
    "sector": (
        "en zh",
        """car sales=汽车销量|exports=出口额|imports=进口额|house prices=房价|food prices=食品价格
        |online sales=网络销售额
        |oil prices=油价|retail sales=零售额|tourism revenues=旅游收入|steel exports=钢材出口额|wages=工资
        |tax revenues=税收
        |electricity bills=电费|share prices=股价|grain imports=粮食进口额|ticket sales=门票销售额""",
    ),
    "topic": (
        "en zh",
        """climate change=气候变化|education=教育|artificial intelligence=人工智能|economic growth=经济增长
        |public health=公共卫生
        |international trade=国际贸易|agriculture=农业|machine translation=机器翻译|food safety=食品安全
        |renewable energy=可再生能源
        |urban planning=城市规划|Chinese history=中国历史|information technology=信息技术
        |environmental protection=环境保护
        |modern art=现代艺术|water resources=水资源|youth employment=青年就业|space exploration=太空探索
        |data security=数据安全
        |tourism=旅游业|rural development=农村发展|globalization=全球化|public transport=公共交通
        |poverty reduction=减贫
        |medical research=医学研究|financial regulation=金融监管|classical music=古典音乐
        |marine biology=海洋生物学""",
    ),
    "past": (
        "en zh",
        """yesterday=昨天|last week=上周|this morning=今天早上|last year=去年|last night=昨晚|last month=上个月
        |the day before yesterday=前天|two days ago=两天前|yesterday afternoon=昨天下午|last Sunday=上个星期天
        |on Monday=星期一
        |last weekend=上周末|on Friday evening=星期五晚上|three weeks ago=三个星期前|last summer=去年夏天
        |last winter=去年冬天
        |a few days ago=几天前|on Saturday morning=星期六上午|last Wednesday=上个星期三|half a year ago=半年前""",
    ),
    "future": (
        "en zh",
        """tomorrow=明天|next week=下周|tonight=今晚|next month=下个月|next year=明年|tomorrow morning=明天早上
        |this weekend=这个周末|the day after tomorrow=后天|next Tuesday=下个星期二|in two days=两天后
        |this afternoon=今天下午
        |next summer=明年夏天|on Thursday=星期四|in three weeks=三个星期后|next Friday=下个星期五""",
    ),
    "habit": (
        "en zh",
        """every day=每天|every week=每个星期|every morning=每天早上|on Sundays=每个星期天|every evening=每天晚上
        |at weekends=每个周末
        |every afternoon=每天下午|every month=每个月|on Saturdays=每个星期六|during the holidays=放假时""",
    ),
    "often": ("en zh", "often=经常|sometimes=有时|usually=通常|always=总是|rarely=很少|seldom=很少"),
    "duration": (
        "en zh",
        """two hours=两个小时|three hours=三个小时|half an hour=半个小时|twenty minutes=二十分钟|an hour=一个小时
        |a whole afternoon=整整一个下午|forty minutes=四十分钟|four hours=四个小时|a long time=很长时间""",
    ),
    "weather": (
        "past present zh",
        """it was raining=it rains=下雨|it was very cold=it is very cold=天气很冷
        |it was very hot=it is very hot=天气很热
        |it was snowing=it snows=下雪|the wind was strong=the wind is strong=风很大|it was foggy=it is foggy=有雾""",
    ),
    "soon": (
        "en zh",
        """tomorrow=明天|tonight=今晚|this weekend=这个周末|tomorrow morning=明天早上|this afternoon=今天下午
        |on Thursday=星期四
        |the day after tomorrow=后天|on Sunday=星期天""",
    ),
    "manner": (
        "en zh",
        """carefully=仔细地|quickly=很快地|quietly=安静地|happily=高兴地|patiently=耐心地|slowly=慢慢地
        |skilfully=熟练地""",
    ),
    "feel": (
        "en zh",
        """tired=累|happy=高兴|busy=忙|hungry=饿|angry=生气|worried=担心|excited=激动|nervous=紧张|surprised=惊讶
        |sad=难过
        |satisfied=满意|disappointed=失望|thirsty=渴|sleepy=困|lonely=孤独|proud=自豪""",
    ),
    "travel": (
        "en zh",
        """by train=坐火车|by plane=坐飞机|by car=开车|by coach=坐长途汽车|by high-speed train=坐高铁
        |by night train=坐夜车""",
    ),
    "ride": (
        "en zh",
        "by bus=坐公共汽车|on foot=走路|by taxi=坐出租车|by bicycle=骑自行车|by underground=坐地铁|by tram=坐电车",
    ),
    "sight": (
        "en zh",
        """the railway station=火车站|the airport=机场|the nearest bank=最近的银行|the city museum=市博物馆
        |the hospital=医院
        |the library=图书馆|the post office=邮局|the swimming pool=游泳馆|the police station=警察局|the old town=老城
        |the People's Park=人民公园|the stadium=体育场|the university=大学|the Grand Theatre=大剧院
        |the conference centre=会议中心""",
    ),
    "attraction": (
        "en zh",
        """the city museum=市博物馆|the old town=老城|the People's Park=人民公园|the Grand Theatre=大剧院
        |the zoo=动物园
        |the art gallery=美术馆|the science museum=科技馆|the book fair=书展|the botanical garden=植物园
        |the aquarium=水族馆""",
    ),
    "subject": (
        "en zh",
        """Chinese=中文|mathematics=数学|English=英语|history=历史|physics=物理|music=音乐|law=法律|chemistry=化学
        |French=法语
        |biology=生物|economics=经济学|geography=地理|philosophy=哲学|Spanish=西班牙语|computer science=计算机科学""",
    ),
    "sport": (
        "ing base zh v",
        """playing football=play football=踢足球=踢|swimming=swim=游泳=游|running=run=跑步=跑|dancing=dance=跳舞=跳
        |playing table tennis=play table tennis=打乒乓球=打|playing chess=play chess=下棋=下|skiing=ski=滑雪=滑
        |playing the piano=play the piano=弹钢琴=弹|playing basketball=play basketball=打篮球=打|singing=sing=唱歌=唱
        |playing the violin=play the violin=拉小提琴=拉|playing badminton=play badminton=打羽毛球=打
        |skating=skate=滑冰=滑
        |cooking=cook=做饭=做|playing tennis=play tennis=打网球=打|playing volleyball=play volleyball=打排球=打
        |playing the guitar=play the guitar=弹吉他=弹""",
    ),
    "element": (
        "en number zh",
        """rutherfordium=104=𬬻|dubnium=105=𬭊|seaborgium=106=𬭳|bohrium=107=𬭛|hassium=108=𬭶|roentgenium=111=𬬭
        |flerovium=114=𫓧
        |livermorium=116=𫟷""",
    ),
    "emoji": ("en", "😊|👍|🎉|😂|👋|🙏|🍀|🌞|🐼|🎂|📚|🚀|☕|🥟"),
    "menu": (
        "en zh",
        """File > Save=文件 > 保存|Edit > Copy=编辑 > 复制|View > Zoom=视图 > 缩放|Tools > Options=工具 > 选项
        |File > Print=文件 > 打印
        |Help > About=帮助 > 关于|Insert > Table=插入 > 表格""",
    ),
    "tag": ("en", "<title>|<b>|<p>|<table>|<img>|<body>"),
}

# "english=nouns that are found there=Chinese with its verb of existence"
SPOTS = """on the table=cup,book,vase,newspaper,lamp,key,dictionary,plate,gift,camera,map,bottle,phone=桌子上放着
|on the wall=painting,map,mirror,clock,photo=墙上挂着
|in front of the building=car,bicycle,truck,taxi,motorcycle,bus=大楼前停着
|in the drawer=key,letter,knife,photo,notebook,pen,map=抽屉里放着
|under the tree=dog,cat,rabbit,cow,sheep=树下有
|in the corner of the room=sofa,lamp,chair,bookshelf,guitar=房间的角落里放着
|by the lake=duck,goose,bird,swan,horse,deer=湖边有"""
